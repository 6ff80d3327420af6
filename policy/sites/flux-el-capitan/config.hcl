# A system like El Capitan, which runs only Flux: 11136 nodes. The pool is the default of Flux's cray-slingshot.
nodes  = "elcap[1-11136]"
policy = "."

pool "jobs" {
  vnis = "1024-65535"
}

scheduler "flux" "flux" {
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
