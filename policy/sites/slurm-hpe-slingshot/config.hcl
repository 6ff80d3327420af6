# A site that moves from Slurm's switch/hpe_slingshot. The range is what stood in its SwitchParameters as vnis=; 1024-65535 is the plugin's default.
nodes  = "nid[0001-1024]"
policy = "."

pool "jobs" {
  vnis = "1024-65535"
}

scheduler "slurm" "cluster" {
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
