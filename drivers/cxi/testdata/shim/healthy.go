package shim

// healthy are files of a good Cassini 1 below device: cass_sysfs.c, cass_sbl.c, cass_telem.c and cass_uc.c of
// shs-cxi-driver release/shs-14.0.1, with the values of HPE's manual (cxi_stat) and the kernel's own of PCI devices.
var healthy = map[string]string{
	"properties/cassini_version": "1.1", "properties/min_free_shift": "0", "properties/current_esm_link_speed": "Disabled",
	"properties/pcie_corr_err": "0", "properties/pcie_uncorr_err": "0", "uc/qspi_blob_version": "1.5.53",
	"port/link": "up", "port/speed": "BS_200G", "port/link_layer_retry": "on", "port/loopback": "off",
	"port/media": "electrical", "port/pause": "pfc/802.1qbb",
	"current_link_width": "16", "max_link_width": "16", "current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe",
	"aer_dev_correctable": "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0", "aer_dev_nonfatal": "Undefined 0\nTOTAL_ERR_NONFATAL 0",
	"aer_dev_fatal":                  "Undefined 0\nTOTAL_ERR_FATAL 0",
	"telemetry/hni_pcs_corrected_cw": "1000@100.000000000", "telemetry/hni_pcs_uncorrected_cw": "0@100.000000000",
	"link_restarts/time_0": "0", "link_restarts/time_1": "0", "link_restarts/time_2": "0", "link_restarts/time_3": "0",
	"link_restarts/time_4": "0", "link_restarts/time_5": "0", "link_restarts/time_6": "0", "link_restarts/time_7": "0",
	"link_restarts/time_8": "0", "link_restarts/time_9": "0",
}
