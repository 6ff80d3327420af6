# A site with PBS and DAOS. A job that uses DAOS has three VNIs, in this order: the application's, the job's, and one of the block that the DAOS servers
# accept. DAOS's client reads the one at index 2 of SLINGSHOT_VNIS, so users need no `mpiexec --no-vni`, which would switch isolation off.

traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
limits          = "per_core"
vnis            = ["app", "job"]

# What one core has: with less of these no endpoint opens, so a job that would get less does not start on that node.
floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 2 }

# A job has its part of a node that others share at most, and all of max where place or the vnode's sharing give it the node alone.
limits "per_core" {
  txqs = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1024 }
  tgqs = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 512 }
  eqs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 2047 }
  cts  = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2047 }
  ptes = { reserved = 6 * share.cores, ask = 12 * share.cores, max = 2048 }
  les  = { reserved = 16 * share.cores, ask = 32 * share.cores, max = 16384 }
  acs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1022 }
}

vni "app" { pool = "jobs" }
vni "job" { pool = "jobs" } # PMI and tools that find each other over all applications of the job
vni "daos" { service = "daos" }

rule "jobs that use DAOS" {
  match { groups = ["daos-users"] }
  vnis = ["app", "job", "daos"]
}

# Movers of data keep out of the way of the applications.
rule "movers" {
  match { queues = ["data"] }
  traffic_classes = ["BULK_DATA"]
}

rule "no network wanted" {
  when = job.request.off
  vnis = []
}

# The block has 1024 VNIs. A workflow of very many small jobs must not have all of them.
quota "DAOS clients of a user" {
  match { groups = ["daos-users"] }
  per  = "user"
  vnis = 384
}
