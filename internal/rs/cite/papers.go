package cite

// The papers. Keys are first author, year and first word of the title.
var (
	cohen = Entry{"inproceedings", "cohen2019certified", []Field{
		{"title", "Certified Adversarial Robustness via Randomized Smoothing"},
		{"author", "Cohen, Jeremy and Rosenfeld, Elan and Kolter, Zico"},
		{"booktitle", "Proceedings of the 36th International Conference on Machine Learning"},
		{"series", "Proceedings of Machine Learning Research"},
		{"volume", "97"},
		{"pages", "1310--1320"},
		{"year", "2019"},
		{"publisher", "PMLR"},
		{"eprint", "1902.02918"},
		{"archiveprefix", "arXiv"},
	}}
	clopperPearson = Entry{"article", "clopper1934use", []Field{
		{"title", "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial"},
		{"author", "Clopper, C. J. and Pearson, E. S."},
		{"journal", "Biometrika"},
		{"volume", "26"},
		{"number", "4"},
		{"pages", "404--413"},
		{"year", "1934"},
		{"doi", "10.1093/biomet/26.4.404"},
	}}
	zhai = Entry{"inproceedings", "zhai2020macer", []Field{
		{"title", "{MACER}: Attack-free and Scalable Robust Training via Maximizing Certified Radius"},
		{"author", "Zhai, Runtian and Dan, Chen and He, Di and Zhang, Huan and Gong, Boqing and Ravikumar, Pradeep " +
			"and Hsieh, Cho-Jui and Wang, Liwei"},
		{"booktitle", "International Conference on Learning Representations"},
		{"year", "2020"},
		{"eprint", "2001.02378"},
		{"archiveprefix", "arXiv"},
	}}
	chen = Entry{"inproceedings", "chen2022input", []Field{
		{"title", "Input-Specific Robustness Certification for Randomized Smoothing"},
		{"author", "Chen, Ruoxin and Li, Jie and Yan, Junchi and Li, Ping and Sheng, Bin"},
		{"booktitle", "Proceedings of the AAAI Conference on Artificial Intelligence"},
		{"volume", "36"},
		{"year", "2022"},
		{"eprint", "2112.12084"},
		{"archiveprefix", "arXiv"},
	}}
	waudbySmith = Entry{"article", "waudbysmith2024estimating", []Field{
		{"title", "Estimating Means of Bounded Random Variables by Betting"},
		{"author", "Waudby-Smith, Ian and Ramdas, Aaditya"},
		{"journal", "Journal of the Royal Statistical Society Series B: Statistical Methodology"},
		{"volume", "86"},
		{"number", "1"},
		{"pages", "1--27"},
		{"year", "2024"},
		{"doi", "10.1093/jrsssb/qkad009"},
	}}
	voracek = Entry{"inproceedings", "voracek2024treatment", []Field{
		{"title", "Treatment of Statistical Estimation Problems in Randomized Smoothing for Adversarial Robustness"},
		{"author", `Vor{\'a}{\v{c}}ek, V{\'a}clav`},
		{"booktitle", "Advances in Neural Information Processing Systems"},
		{"volume", "37"},
		{"year", "2024"},
		{"eprint", "2406.17830"},
		{"archiveprefix", "arXiv"},
	}}
	voracekHein = Entry{"inproceedings", "voracek2023sound", []Field{
		{"title", "Sound Randomized Smoothing in Floating-Point Arithmetic"},
		{"author", `Vor{\'a}{\v{c}}ek, V{\'a}clav and Hein, Matthias`},
		{"booktitle", "International Conference on Learning Representations"},
		{"year", "2023"},
		{"eprint", "2207.07209"},
		{"archiveprefix", "arXiv"},
	}}
)
