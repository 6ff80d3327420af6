job {
  scheduler = "pbs"
  user      = "ann"
  groups    = ["phys"]
  queue     = "prod"
  nodes     = 8
  cores     = 104
}

case "application and job" {
  expect {
    vnis            = ["app", "job"]
    traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
    limits          = { txqs = { reserved = 208, max = 1024 }, les = { reserved = 1664, max = 16384 } }
  }
}

case "the VNI of DAOS is at index 2" {
  job { groups = ["phys", "daos-users"] }
  expect {
    vnis  = ["app", "job", "daos"]
    rules = ["jobs that use DAOS"]
  }
}

case "it stays there when fewer are asked for" {
  job {
    groups = ["daos-users"]
    request { vnis = 1 }
  }
  expect { vnis = ["app", "job", "daos"] }
}

case "one node has VNIs too" {
  job { nodes = 1 }
  expect { vnis = ["app", "job"] }
}

case "movers" {
  job {
    groups = ["daos-users"]
    queue  = "data"
  }
  expect {
    vnis            = ["app", "job", "daos"]
    traffic_classes = ["BULK_DATA"]
  }
}

case "a user may have 128 jobs with DAOS" {
  job { groups = ["daos-users"] }
  use "DAOS clients of a user" { vnis = 381 }
  expect { vnis = ["app", "job", "daos"] }
}

case "and no more" {
  job { groups = ["daos-users"] }
  use "DAOS clients of a user" { vnis = 384 }
  expect { deny = "user ann may hold 384 VNIs: 384 are in use, and this job wants 3" }
}

case "the quota is none of those without DAOS" {
  use "DAOS clients of a user" { vnis = 384 }
  expect { vnis = ["app", "job"] }
}

case "no network" {
  job {
    request { off = true }
  }
  expect { vnis = [] }
}

case "a depth beyond the job's own cores" {
  job {
    request { depth = 1024 }
  }
  expect { deny = "depth: 1024 was asked for" }
}

case "a job takes no more of a shared node than its part" {
  expect { share = "guaranteed" }
}

case "no job starts with less than one core has" {
  expect { floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 2 } }
}
