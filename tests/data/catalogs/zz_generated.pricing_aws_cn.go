package pricing

// generated at 2026-07-19T13:06:44Z for cn-north-1

var InitialOnDemandPricesCN = map[string]map[string]float64{
	"cn-north-1": {
		"nvme.large": 1.561000,
	},
}
