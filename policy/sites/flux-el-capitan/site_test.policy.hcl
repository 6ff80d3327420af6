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

case "collectives are 23 addresses" {
  job {
    request { collectives = true }
  }
  expect {
    collectives = 23
    rules       = ["hardware collectives for those who ask"]
    warnings    = []
  }
}

case "as many for a small job and for the whole system" {
  job {
    nodes = 11136
    request { collectives = true }
  }
  expect { collectives = 23 }
}

case "a job that does not ask gets none, however large" {
  job { nodes = 11136 }
  expect { collectives = 0 }
}

case "cray-slingshot=off" {
  job {
    request { off = true }
  }
  expect { vnis = [] }
}

case "one VNI for each job" {
  job {
    request { vnis = 2 }
  }
  expect { deny = "gives this job 1" }
}
