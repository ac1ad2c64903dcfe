#!/usr/bin/env bash
# Installs the Debian packages that tests (and, with "bench", the benchmark's peers) use, when it may.
# Where it may not, or VENTURI_TEST_PACKAGES is "no", the tests that need them skip and say so.
set -euo pipefail
missing=()
want() { command -v "$1" >/dev/null 2>&1 || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null || missing+=("$2"); }
want initdb postgresql
want chromium chromium
want mkfs.ext4 e2fsprogs
PATH="$PATH:/usr/sbin" want mkfs.xfs xfsprogs
want java openjdk-17-jre-headless
want mvn maven
want strace strace
want mergerfs mergerfs
want ssh openssh-client
want blkparse blktrace
want perf linux-perf
PATH="$PATH:/usr/sbin" want nginx nginx-light
PATH="$PATH:/usr/sbin" want sshd openssh-server
if [ "${1:-}" = bench ]; then
  want fio fio
  want iperf3 iperf3
fi
[ "${#missing[@]}" -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "not installed: ${missing[*]} (needs root on a Debian system); the tests that need them will skip" >&2
  exit 0
fi
if [ "${VENTURI_TEST_PACKAGES:-}" = no ]; then
  echo "not installed: ${missing[*]} (VENTURI_TEST_PACKAGES=no); the tests that need them will skip" >&2
  exit 0
fi
echo "installing Debian packages for the tests: ${missing[*]} (VENTURI_TEST_PACKAGES=no prevents it)" >&2
export DEBIAN_FRONTEND=noninteractive
# A failed refresh is no failure: the package lists already here may serve.
apt-get update -qq >/dev/null 2>&1 || true
# The database is started by the tests themselves; the package must not start one.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
# Nor may one listen on port 80; a policy that is here stays as it is.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || {
  echo "could not install: ${missing[*]}; the tests that need them will skip" >&2
}
