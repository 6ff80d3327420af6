job {
  scheduler = "flux"
  user      = "ann"
  nodes     = 128
  cores     = 96
}

case "the guide's table" {
  expect {
    vnis            = ["app"]
    traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
    collectives     = 0
    limits = {
      txqs = { reserved = 192, max = 2048 }
      tgqs = { reserved = 96, max = 1024 }
      eqs  = { reserved = 192, max = 2047 }
      cts  = { reserved = 96, max = 2047 }
      tles = { reserved = 96, max = 96 }
      ptes = { reserved = 576, max = 2048 }
      les  = { reserved = 1536, max = 16384 }
      acs  = { reserved = 192, max = 1022 }
    }
  }
}

case "a job that asks for collectives is told that it gets none" {
  job {
    request { collectives = true }
  }
  expect {
    collectives = 0
    warnings    = ["hardware collectives were asked for"]
  }
}

case "a job of the whole system has no more than the guide's table" {
  job { nodes = 11136 }
  expect {
    collectives = 0
    limits      = { tles = { reserved = 96, max = 96 } }
  }
}

case "cray-slingshot=off" {
  job {
    request { off = true }
  }
  expect { vnis = [] }
}

case "cray-slingshot.vnicount=1" {
  job {
    request { vnis = 1 }
  }
  expect { vnis = ["app"] }
}

case "cray-slingshot.vnicount=2" {
  job {
    request { vnis = 2 }
  }
  expect { vnis = ["app", "second"] }
}

case "cray-slingshot.vnicount=4" {
  job {
    request { vnis = 4 }
  }
  expect { vnis = ["app", "second", "third", "fourth"] }
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
