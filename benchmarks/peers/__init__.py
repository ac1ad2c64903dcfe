"""The peers' own programs, each run as a child process that times its query and its fsync."""
