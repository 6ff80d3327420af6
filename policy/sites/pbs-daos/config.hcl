# A site with PBS and DAOS. The ranges are those of DAOS's guide for fabrics: applications below, the DAOS servers' block above.
nodes  = "x[0001-0512]"
policy = "."

pool "jobs" {
  vnis = "1024-64511"
}

service "daos" {
  vnis    = "64512-65535"
  servers = "daos[01-16]" # nodes on which these VNIs are the service's own
}

scheduler "pbs" "pbs" {
}

driver "cxi" {
}

server {
  socket = "/run/weft/server.sock"
  store  = "/var/lib/weft/server.db"
}

agent {
  dir = "/run/weft/agent"
}
