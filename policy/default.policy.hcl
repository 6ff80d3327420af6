# The site's policy: which job gets which VNIs, traffic classes, NIC resources and multicast addresses.
#
# How it is read. What stands at the top is for every job. Then rules, top to bottom, files in the order of their names: each rule whose match and when are
# both true sets what it names, and a later one replaces what an earlier one set. A deny that is true refuses the job, wherever it stands. What a user asks
# for beyond what is set here in the end is refused by name.
#
# when    is an expression over job (id, scheduler, user, uid, gid, groups, account, queue, nodes, cores), job.request (off, vnis, job_vni,
#         single_node_vni, traffic_classes, depth, collectives, no_adjust_limits, limits) and system (nodes).
# match   is plain data, cheap for any number of rules: users, groups, accounts, queues, schedulers, nodes. All lists that are given must hold something
#         of the job. With nodes, a rule is for jobs that lie in the list altogether, a deny for jobs with any node in it.
#
# To change what this file sets, do not edit it: write a rule with neither when nor match in a file whose name comes later.

traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
limits          = "per_core"
vnis            = ["app"]

# What one core has: with less of these no endpoint opens, so a job that would get less does not start on that node.
floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 2 }

# share      = "greedy"    # let a job take more of a NIC than its part of a shared node, also what is reserved for others
# min_nics   = "all"       # fewest NICs of a node that must work for a job to start there
# on_failure = "degrade"   # while Weft is down: run jobs without isolation instead of not at all

# Resources of each NIC on a node. reserved is guaranteed to the job, max is its ceiling, and nothing is reserved above it. Where jobs share a node, a job has
# at most its part of the NIC, which is its part of the node's cores. ask is the most that its user may have reserved instead, by depth, def_ and res_.
# share.cores is the job's cores on that node, or the depth that its user asked for, but in ask. The numbers are those of Slurm's switch/hpe_slingshot.
limits "per_core" {
  txqs = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1024 }
  tgqs = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 512 }
  eqs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 2047 }
  cts  = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2047 }
  ptes = { reserved = 6 * share.cores, ask = 12 * share.cores, max = 2048 }
  les  = { reserved = 16 * share.cores, ask = 32 * share.cores, max = 16384 }
  acs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1022 }
  # tles: none. They are for triggered operations, and a NIC has only 4 pools of them, one of which the driver keeps: 3 jobs a node.
}

# For jobs that use triggered operations, as hardware collectives do.
limits "per_core_triggered" {
  txqs = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1024 }
  tgqs = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 512 }
  eqs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 2047 }
  cts  = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2047 }
  ptes = { reserved = 6 * share.cores, ask = 12 * share.cores, max = 2048 }
  les  = { reserved = 16 * share.cores, ask = 32 * share.cores, max = 16384 }
  tles = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2048 }
  acs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1022 }
}

# VNIs by name. The order in vnis is that of SLINGSHOT_VNIS: the application's, the job's, then those of services, from index 2 on.
vni "app" { pool = "jobs" }
vni "job" { pool = "jobs" }
# vni "daos" { service = "daos" } # of the block that the DAOS servers accept; DAOS reads index 2

# The fabric has 4086 multicast addresses. Each job of 64 nodes or more gets its part of them, so that a system full of such jobs has enough.
# Commented out: no fabric backend makes multicast addresses yet, so the rule would promise what no job gets.
# rule "large jobs get hardware collectives" {
#   when        = job.nodes >= 64
#   limits      = "per_core_triggered"
#   collectives = { addresses = multicast_share(4086, system.nodes, 64, 1) }
# }

rule "a VNI for the whole job" {
  when = job.request.job_vni
  vnis = ["app", "job"]
}

# rule "storage" {
#   match {
#     users  = ["daos"]
#     queues = ["io"]
#   }
#   traffic_classes = ["BULK_DATA"]
#   vnis            = ["app", "job", "daos"]
# }

rule "no network wanted" {
  when = job.request.off
  vnis = []
}

deny "dedicated access is for operations" {
  when    = contains(job.request.traffic_classes, "DEDICATED_ACCESS") && !contains(job.groups, "ops")
  message = "DEDICATED_ACCESS needs membership of group ops"
}

rule "operations may have dedicated access" {
  when            = contains(job.request.traffic_classes, "DEDICATED_ACCESS") && contains(job.groups, "ops")
  traffic_classes = ["DEDICATED_ACCESS", "BEST_EFFORT", "LOW_LATENCY"]
}
