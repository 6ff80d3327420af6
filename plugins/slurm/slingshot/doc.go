// Package slingshot says SwitchParameters of Slurm's switch/hpe_slingshot in the words of config.hcl and of policy.
//
// The names, ranges and defaults are those of Slurm 26.05 (slingshot_setup_config and the functions that it calls in
// src/plugins/switch/hpe_slingshot/config.c, switch_hpe_slingshot.h), with the parameters that older releases had.
package slingshot
