"""The suites, listed explicitly in `benchmarks.__main__`; each is `run(bench) -> list[Figure]`."""
