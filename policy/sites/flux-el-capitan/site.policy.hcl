# A site like El Capitan, which runs only Flux. What it gives is what Flux's design guide for Slingshot says (doc/guide/slingshot.rst of flux-coral2): one
# VNI for each job of the system instance, which its sub-instances share, and up to four for those who ask; two traffic
# classes; the guide's own table of limits. Its hardware collectives wait for a fabric backend.

traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
limits          = "guide"
vnis            = ["app"]

# What one core has: with less of these no endpoint opens, so a job that would get less does not start on that node.
floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 2 }

# A job has its nodes alone, all cores of them, so its max is all of each NIC. Where jobs share nodes, max is a job's part of the node at most.

# The system instance does not know how many tasks a sub-instance will start, so the number of cores stands for it.
limits "guide" {
  txqs = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 2048 }
  tgqs = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 1024 }
  eqs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 2047 }
  cts  = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 2047 }
  tles = { reserved = 1 * share.cores, max = 1 * share.cores } # the guide's special case: both are the cores
  ptes = { reserved = 6 * share.cores, ask = 12 * share.cores, max = 2048 }
  les  = { reserved = 16 * share.cores, ask = 32 * share.cores, max = 16384 }
  acs  = { reserved = 2 * share.cores, ask = 4 * share.cores, max = 1022 }
}

vni "app" { pool = "jobs" }
vni "second" { pool = "jobs" }
vni "third" { pool = "jobs" }
vni "fourth" { pool = "jobs" }

# -o cray-slingshot.vnicount=2 to 4, as any user of flux-coral2 may. A job gets the first ones, as many as it asks for.
rule "more VNIs for those who ask" {
  when = job.request.vnis > 1
  vnis = ["app", "second", "third", "fourth"]
}

# No minimum size is set, so users ask: -o slingshot.collectives. 4086 addresses, 11136 nodes, 64 as the smallest job that is reckoned with, and one job on
# a node at a time: 23 for each job, whatever its size.
# Commented out: no fabric backend makes multicast addresses yet, so the rule would promise what no job gets.
# rule "hardware collectives for those who ask" {
#   when        = job.request.collectives
#   collectives = { addresses = multicast_share(4086, system.nodes, 64, 1) }
# }

# -o cray-slingshot=off
rule "no network wanted" {
  when = job.request.off
  vnis = []
}
