# A site that moves from Slurm's switch/hpe_slingshot: users get what they had, and ask for it with the same --network.
#
# What is as the plugin's defaults are: the traffic classes, the limits of each resource, no VNI for a whole job (job_vni = none) and no hardware collectives
# (hwcoll_addrs_per_job = 0). A job has a trigger list entry (TLE) for each core and no more: a NIC makes their max equal to what is reserved.
#
# What is not:
# - Isolation of steps is not kept. The plugin gives each step VNIs of its own, so that two steps of a job cannot reach each other; here all steps of a job
#   share the job's. Jobs are isolated from each other as before.
# - A job on one node has a VNI too, where the plugin gives none unless single_node_vni says so.
# - With the plugin a user may reserve up to what the NIC has (res_), and so take it from the neighbours. Here ask and max are the bounds, and more is
#   refused by name, as is a depth of more than twice the job's cores.
# - With the plugin a user may have any traffic class (tcs). Here the classes below are all, and others are refused by name.
# - A NIC has 4 pools of TLEs, one of which the driver keeps, so 3 jobs of a node have any. With the plugin the fourth step fails. Here the fourth job and
#   those after it start without TLEs, with a warning; with --network=no_adjust_limits they do not start.
# - With the plugin a job starts with less than one core has. Here the floor refuses it.
# - With the plugin a job on a shared node may take what is reserved for the others there. Here its max is its part of the node at most; share = "greedy"
#   leaves it as with the plugin.

traffic_classes = ["LOW_LATENCY", "BEST_EFFORT"]
limits          = "per_cpu"
vnis            = ["app"]

# What one core has: with less of these no endpoint opens, so a job that would get less does not start on that node.
floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 2 }

limits "per_cpu" {
  txqs = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1024 }
  tgqs = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 512 }
  eqs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 2047 }
  cts  = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2047 }
  tles = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2048 } # for 3 jobs a node: see above
  ptes = { reserved = 6 * share.cores, ask = 12 * share.cores, max = 2048 }
  les  = { reserved = 16 * share.cores, ask = 32 * share.cores, max = 16384 }
  acs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1022 } # 4 for each CPU before Slurm 25.05
}

vni "app" { pool = "jobs" }

# --network=no_vni
rule "no network wanted" {
  when = job.request.off
  vnis = []
}
