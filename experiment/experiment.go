// Package experiment ties training, adaptation, certification and calibration together into the tables of a paper.
//
// A Recipe says how a network is trained, a Tier how much of it is done (network, epochs, images, samples), a Table which
// recipes stand side by side and what is measured of them. All three are data: YAML files, those of four papers built in, further ones read
// from a file of the user's. A Library holds them.
//
//	Sun et al. 2021, "Certified adversarial defenses meet out-of-distribution corruptions" (tables "A/…")
//	Bitterwolf et al. 2020, "Certifiably adversarially robust detection of out-of-distribution data" (tables "B/…")
//	Fridovich-Keil et al. 2022, "Models out of line: a Fourier lens on distribution shift robustness" (tables "C/…")
//	Emde et al. 2025, "Towards certification of uncertainty calibration under adversarial attacks" (tables "D/…")
//
// Run makes a table in a folder: it trains, adapts, certifies and attacks, model by model, and whatever is in the folder already is not
// done again, so that an interrupted run goes on where it was and ends with the same ledgers. Fill reads the folder. What a table measures is
// a measure, with a file of its own: measure_radius.go and its like. A training method of one's own joins by Options.Methods or
// method.Register, a network by nets.Register; a finished network by a row that names its file, finished radii by one that names a ledger or a CSV.
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
//	results/MODEL.record.jsonl     what may predict accuracy under shift, path metrics among it; all of them in records.jsonl
//	results/MODEL.predictions.csv  the classes without noise, for the agreement of models
//	results/MODEL.evaluate.json    plain accuracies; their predictions are in predictions/CORRUPTION/SEVERITY/MODEL.npy
//	results/MODEL.*.csv       the confidences behind them, image by image, to six decimals, bounds rounded outwards
package experiment
