# Tests of default.policy.hcl: `weft policy test` runs them, and so does every reload before it puts a change in force. They hold for any number of nodes.
# Whoever changes what jobs get changes here what they must get.

job {
  user  = "ann"
  cores = 16
}

case "a job gets a VNI of its own, two classes, and resources for each core" {
  expect {
    vnis            = ["app"]
    traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
    limits = {
      txqs = { reserved = 32, max = 1024 }
      les  = { reserved = 256, max = 16384 }
      tles = { reserved = 0, max = 0 }
    }
    min_nics    = "all"
    collectives = 0
    rules       = []
    warnings    = []
  }
}

case "a job takes no more of a shared node than its part" {
  expect { share = "guaranteed" }
}

case "a depth stands in for the cores" {
  job {
    request { depth = 4 }
  }
  expect { limits = { txqs = { reserved = 8 } } }
}

case "a second VNI is for the whole job" {
  job {
    request { job_vni = true }
  }
  expect { vnis = ["app", "job"] }
}

case "who wants no network gets none" {
  job {
    request { off = true }
  }
  expect { vnis = [] }
}

case "dedicated access is for operations" {
  job {
    request { traffic_classes = ["DEDICATED_ACCESS"] }
  }
  expect { deny = "needs membership of group ops" }
}

case "operations have it" {
  job {
    groups = ["ops"]
    request { traffic_classes = ["DEDICATED_ACCESS"] }
  }
  expect { traffic_classes = ["DEDICATED_ACCESS"] }
}

case "a class that nobody is given is refused by name" {
  job {
    request { traffic_classes = ["BULK_DATA"] }
  }
  expect { deny = "BULK_DATA" }
}

case "more than the ceiling is refused by name" {
  job {
    request { limits = { txqs = { reserved = 1025 } } }
  }
  expect { deny = "txqs" }
}

case "a job reserves at most twice what its cores have" {
  job {
    request { limits = { txqs = { reserved = 65 } } }
  }
  expect { deny = "txqs: a reservation of 65 was asked for; the site's policy gives this job at most 64" }
}

case "twice is granted" {
  job {
    request { limits = { txqs = { reserved = 64 }, ptes = { per_core = 12 } } }
  }
  expect { limits = { txqs = { reserved = 64, max = 1024 }, ptes = { reserved = 192, max = 2048 } } }
}

case "TLEs are not given, not even one for each core" {
  job {
    request { limits = { tles = { per_core = 1 } } }
  }
  expect { deny = "tles: a reservation of 16 was asked for; the site's policy gives this job at most 0" }
}

case "a depth beyond the job's own cores takes from its neighbours" {
  job {
    request { depth = 33 }
  }
  expect { deny = "depth: 33 was asked for, which would reserve 198 ptes; the site's policy gives this job at most 192" }
}

case "who asks for less than one core has is refused" {
  job {
    request { limits = { ptes = { max = 4 } } }
  }
  expect { deny = "ptes: 4 would be reserved on each NIC of a node; the site's policy starts this job with at least 6" }
}

case "a ceiling of none is too little" {
  job {
    request { limits = { ptes = { max = 0 } } }
  }
  expect { deny = "ptes: 0 would be reserved on each NIC of a node; the site's policy starts this job with at least 6" }
}

case "none for each core is too little" {
  job {
    request { limits = { ptes = { per_core = 0 } } }
  }
  expect { deny = "ptes: 0 would be reserved on each NIC of a node; the site's policy starts this job with at least 6" }
}

case "none reserved is too little" {
  job {
    request { limits = { ptes = { reserved = 0 } } }
  }
  expect { deny = "ptes: 0 would be reserved on each NIC of a node; the site's policy starts this job with at least 6" }
}

case "so is who asks for too little for each core" {
  job {
    cores = 1
    request { limits = { txqs = { per_core = 1 } } }
  }
  expect { deny = "txqs: 1 would be reserved on each NIC of a node; the site's policy starts this job with at least 2" }
}

case "less for each core will do where it is enough in all" {
  job {
    request { limits = { ptes = { per_core = 4 } } }
  }
  expect { limits = { ptes = { reserved = 64, max = 2048 } } }
}

case "no job starts with less than one core has" {
  expect { floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 2, les = 0 } }
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
