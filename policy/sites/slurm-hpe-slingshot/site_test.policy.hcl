job {
  scheduler = "cluster"
  user      = "ann"
  nodes     = 4
  cores     = 64
}

case "the plugin's classes and limits" {
  expect {
    vnis            = ["app"]
    traffic_classes = ["LOW_LATENCY", "BEST_EFFORT"]
    collectives     = 0
    min_nics        = "all"
    limits = {
      txqs = { reserved = 128, max = 1024 }
      tgqs = { reserved = 64, max = 512 }
      eqs  = { reserved = 128, max = 2047 }
      cts  = { reserved = 64, max = 2047 }
      tles = { reserved = 64, max = 2048 }
      ptes = { reserved = 384, max = 2048 }
      les  = { reserved = 1024, max = 16384 }
      acs  = { reserved = 128, max = 1022 }
    }
  }
}

case "nothing is reserved above its cap" {
  job { cores = 256 }
  expect {
    limits = {
      tgqs = { reserved = 256, max = 512 }
      ptes = { reserved = 1536, max = 2048 }
      les  = { reserved = 4096, max = 16384 }
    }
  }
}

case "a node of very many cores gets the cap" {
  job { cores = 600 }
  expect {
    limits = {
      txqs = { reserved = 1024, max = 1024 }
      tgqs = { reserved = 512, max = 512 }
      ptes = { reserved = 2048, max = 2048 }
      acs  = { reserved = 1022, max = 1022 }
    }
  }
}

case "depth stands in for the CPUs" {
  job {
    request { depth = 8 }
  }
  expect { limits = { txqs = { reserved = 16, max = 1024 } } }
}

case "a TLE for each core is what a job has anyway" {
  job {
    request { limits = { tles = { per_core = 1 } } }
  }
  expect { limits = { tles = { reserved = 64, max = 2048 } } }
}

case "TLEs by number" {
  job {
    request { limits = { tles = { reserved = 128 } } }
  }
  expect { limits = { tles = { reserved = 128, max = 2048 } } }
}

case "no TLEs" {
  job {
    request { limits = { tles = { per_core = 0 } } }
  }
  expect { limits = { tles = { reserved = 0, max = 2048 } } }
}

case "more TLEs than cores could use" {
  job {
    request { limits = { tles = { per_core = 3 } } }
  }
  expect { deny = "tles: a reservation of 192 was asked for; the site's policy gives this job at most 128" }
}

case "no_adjust_limits changes no number" {
  job {
    request { no_adjust_limits = true }
  }
  expect { limits = { txqs = { reserved = 128, max = 1024 } } }
}

case "one node has a VNI too" {
  job { nodes = 1 }
  expect { vnis = ["app"] }
}

case "no_vni" {
  job {
    request { off = true }
  }
  expect {
    vnis  = []
    rules = ["no network wanted"]
  }
}

case "job_vni is an error where the site says none" {
  job {
    request { job_vni = true }
  }
  expect { deny = "whole job" }
}

case "tcs beyond the site's" {
  job {
    request { traffic_classes = ["DEDICATED_ACCESS"] }
  }
  expect { deny = "DEDICATED_ACCESS" }
}

case "more than the cap is refused, not clipped" {
  job {
    request { limits = { txqs = { reserved = 1025 } } }
  }
  expect { deny = "at most 256" }
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
