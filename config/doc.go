// Package config reads config.hcl, the one file that is the same everywhere on a system: which nodes there are, the pools of VNIs, the schedulers, the
// drivers, and where server and agent listen. Policy only names what is declared here.
//
// What it makes is plain Go: whoever uses a Config needs no HCL. The blocks of plugins are kept inside, since only the plugin's own schema can read them:
// Plugin.Decode applies it, and Plugin.Complain maps what the plugin says of a value back to file, line and column. Load goes on after a mistake (other
// than one of syntax) and returns what it understood, so that a caller can show the mistakes of plugins and of policy in the same run; with
// hclfile.Failed it must not be used for anything else. Two Configs can be compared field by field, which is what a reload needs.
package config
