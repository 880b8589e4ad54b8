// Package experiment is what stands behind the public package of that name: recipes, tiers and tables, jobs and their
// cost, measures, and the folder of results. What a table measures is a measure, with a file of its own:
// measure_radius.go and its like.
//
// What Run writes:
//
//	manifest.json             what the folder is for: tier, data, tables, models
//	rates.json                what this machine was measured to do
//	models/MODEL.safetensors  weights, with the card .json and the log .csv; see package modelfile
//	adapted/MODEL/CELL.*      the same of networks adapted to one corruption
//	ledgers/MODEL/CELL.ledger clean, calibration, fog-3, …; see package sweep
//	results/seals.json        a digest of each file of results, and of the lists of certified images
//	results/MODEL.csv         the certified radii of the ledgers, image by image, small enough to keep
//	results/MODEL.shares.csv  the shares of noise samples in the certified class behind them
//	ood/MODEL/*               bounds and attacks around foreign images; see package ood/record
//	results/DATA-SET-EPSILON.areas.json  what they say of all networks: areas with their covariance; see Areas
//	results/MODEL.*.json      calibration bounds, attacks, heat maps
//	results/MODEL.record.jsonl     what may predict accuracy under shift; all of them in records.jsonl
//	results/MODEL.predictions.csv  the classes without noise, for the agreement of models
//	results/MODEL.evaluate.json    plain accuracies; their predictions are in predictions/CORRUPTION/SEVERITY/MODEL.npy
//	results/MODEL.*.csv       the confidences behind them, image by image, to six decimals, bounds rounded outwards
package experiment
