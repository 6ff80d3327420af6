# The configuration of a system with Weft, the same file on every host. Paths are as seen from this file.
#
# This one is a system of four simulated nodes in one process: what `make demo` and `weft dev` run.

nodes  = "n[1-4]" # every node, by the name in its certificate
policy = "policy" # folder of *.policy.hcl: who gets what

# Which nodes are near each other, so that policy knows over how many groups a job is spread (job.spread).
#
# topology {
#   groups             = 2 # dragonfly groups; nodes are counted off in their order
#   switches_per_group = 1
#   nodes_per_switch   = 2
#   nics_per_node      = 4
# }

# VNIs for jobs. 1 and 10 are never given. A VNI rests for the quarantine after the last node is clean of it.
pool "jobs" {
  vnis       = "1024-65535"
  quarantine = "60s"
}

# VNIs that the services without a record on one node may hold. A node with more is out of service.
# unknown_vnis = 64

# A data service: its clients' jobs take a VNI of its block, which its servers accept.
#
# service "daos" {
#   vnis = "64512-65535" # then pool "jobs" must end at 64511
#   servers = "daos[01-16]" # nodes where its own services carry the block: Weft never touches those
# }

# Who starts jobs: TYPE, and the NAME that reservations are recorded under. "local" is `weft run`, without any scheduler.
scheduler "local" "local" {
}

# scheduler "slurm" "tioga" {
#   alias = { "nid[001-004]" = "n[1-4]" } # where the scheduler has names of its own for nodes
#   mode  = "observe"  # look at its jobs and change nothing, as docs/observe.md says; without it: serve them
#   enforce {          # with mode = "observe": serve the jobs that are wholly within it
#     nodes  = "n[1-4]"
#     queues = ["debug"]
#   }
# }

# The NICs of the nodes: "cxi" for Slingshot, "sim" for simulated ones.
driver "sim" {
  nics = 4
  # memory    = 2048 # MiB that its process may have; each scheduler and driver block takes these two
  # processes = 512  # processes and threads
  # shs = "13.0" # the Slingshot release whose rules they follow: 12.0, 13.0, 13.1, 14.0.0 or 14.0.1
}

server {
  socket = "/run/weft/server.sock"   # for operators on the server's host
  store  = "/var/lib/weft/server.db" # "memory" keeps nothing
  # witness     = "/var/cache/weft/server.head" # vouches for the store after a restart: keep it out of backups
  # unwitnessed = "wait"             # without it: "scheduler" waits for no node that its schedulers call down
  # listen      = "0.0.0.0:6464"     # for agents on other hosts
  # admin_group = "weft-admin"       # may do what root may
  # etcd {                           # in place of store and witness: several servers share it, as docs/servers.md says
  #   endpoints = ["https://etcd1:2379", "https://etcd2:2379", "https://etcd3:2379"]
  #   tls       = "/etc/weft/etcd"   # also: prefix, lease, user, password_file
  # }
}

agent {
  dir = "/run/weft/agent" # on a tmpfs: what is in it must not outlive a reboot
  # server = "weft.example.org:6464" # of several: servers = ["weft1:6464", "weft2:6464", "weft3:6464"]
}
