#!/usr/bin/env bash
# The action: find the binary, check it, become it.
#
# Inputs come as SCOREGATE_ACTION_* variables (see action.yml) and are only ever used as quoted words. The binary writes
# outputs, summary and comment itself; `exec` hands over the process, so its exit code and the runner's signals are its own.
# Works with the bash of Linux, macOS (3.2) and Windows (Git's).
# Exit codes here: 2 the inputs are wrong, 3 the binary could not be fetched or is not the one whose checksum we hold.
set -euo pipefail

# The version that this action runs unless told otherwise.
PINNED_VERSION=0.1.0

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
system=$(uname -s)

# fail CODE MESSAGE: an annotation, escaped as the runner wants it, outputs that are no pass, and the end.
fail() {
  local text=$2
  [[ -z ${GITHUB_OUTPUT:-} ]] ||
    printf '%s\n' verdict=not_evaluated passed=false "exit-code=$1" regressions=0 >>"$GITHUB_OUTPUT"
  text=${text//[%]/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '::error title=scoregate::%s\n' "$text"
  exit "$1"
}

on_windows() {
  case "$system" in
    MINGW* | MSYS* | CYGWIN*) return 0 ;;
    *) return 1 ;;
  esac
}

# slashes PATH: as bash takes it on this system. On Windows backslashes become slashes; elsewhere one is part of a name.
slashes() {
  if on_windows; then
    printf '%s\n' "${1//\\//}"
  else
    printf '%s\n' "$1"
  fi
}

target_triple() {
  local machine
  machine=$(uname -m)
  case "$machine" in
    x86_64 | amd64) machine=x86_64 ;;
    arm64 | aarch64) machine=aarch64 ;;
    *) fail 2 "there is no scoregate binary for the processor $machine; build one and pass its path as \`binary\`" ;;
  esac
  case "$system" in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    MINGW* | MSYS* | CYGWIN*) echo "$machine-pc-windows-msvc" ;;
    *) fail 2 "there is no scoregate binary for $system; build one and pass its path as \`binary\`" ;;
  esac
}

sha256_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum <"$1" | cut -d ' ' -f 1
  else
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  fi
}

# expected_sha256 ASSET: from the table, by the whole name; empty where there is none.
expected_sha256() {
  awk -v asset="$1" '{ sub(/\r$/, "") } $1 ~ /^[0-9a-f]+$/ && length($1) == 64 && $2 == asset && NF == 2 { print $1; exit }' \
    "$here/checksums.txt"
}

# download URL FILE: https only.
download() {
  curl --fail --silent --show-error --location --proto =https --proto-redir =https \
    --connect-timeout 20 --max-time 300 --retry 3 --output "$2" "$1"
}

# fetch REPOSITORY VERSION ASSET FILE: from the server that this job belongs to, and where that is another than github.com and has
# no such release (an action that GHES takes from there), from github.com. What comes is checked by the caller all the same.
fetch() {
  local servers=("${GITHUB_SERVER_URL:-https://github.com}") server
  [[ ${servers[0]} == https://github.com ]] || servers+=(https://github.com)
  for server in "${servers[@]}"; do
    ! download "$server/$1/releases/download/v$2/$3" "$4" || return 0
  done
  return 1
}

# attested ARCHIVE REPOSITORY: where the GitHub CLI and a token of github.com are there, the build's provenance is checked as well.
attested() {
  [[ -n ${GITHUB_TOKEN:-} ]] || return 0
  [[ ${GITHUB_SERVER_URL:-https://github.com} == https://github.com ]] || return 0
  gh attestation verify --help >/dev/null 2>&1 || return 0
  GH_TOKEN=$GITHUB_TOKEN gh attestation verify "$1" --repo "$2" >/dev/null
}

# installed_binary VERSION TARGET: sets `binary` to the path of the checked binary, fetching the archive first where needed.
# The archive is kept in the tool cache and checked each time, since what else writes there is not known; the binary is unpacked for this
# job alone, so that no other job of the machine can change it or is disturbed.
installed_binary() {
  local version=$1 target=$2
  local asset="scoregate-$version-$target.tar.gz"
  local expected
  expected=$(expected_sha256 "$asset")
  [[ -n $expected ]] || fail 2 "this action holds no checksum for $asset, so it will not run it. Use a version that \
is in .github/action/checksums.txt, or build scoregate in the job and pass its path as \`binary\`"

  local temporary cache
  temporary=$(slashes "${RUNNER_TEMP:-/tmp}")
  cache=$(slashes "${RUNNER_TOOL_CACHE:-$temporary}")/scoregate/$version/${target%%-*}
  local archive="$cache/$asset"
  mkdir -p "$cache"

  if [[ ! -f $archive || $(sha256_of "$archive") != "$expected" ]]; then
    local repository=${SCOREGATE_ACTION_REPOSITORY:-${GITHUB_ACTION_REPOSITORY:-}}
    [[ $repository =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] ||
      fail 2 "the action does not know its own repository (it runs from a local path): pass a path as \`binary\`"
    new=$(mktemp -d "$cache/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    fetch "$repository" "$version" "$asset" "$new/$asset" ||
      fail 3 "could not download $asset of the release v$version of $repository"
    local actual
    actual=$(sha256_of "$new/$asset")
    [[ $actual == "$expected" ]] || fail 3 "$asset is not what it should be: its SHA-256 is $actual, this action holds \
$expected. Nothing was run"
    attested "$new/$asset" "$repository" || fail 3 "$asset has no valid build attestation of $repository. Nothing was run"
    mv -f "$new/$asset" "$archive"
    rm -rf "$new"
    trap - EXIT
  fi

  local name=scoregate folder
  ! on_windows || name=scoregate.exe
  folder=$(mktemp -d "$temporary/scoregate.XXXXXX")
  # By standard input: GNU tar takes the colon of C:/ for a host's name.
  tar -xzf - -C "$folder" "$name" <"$archive" || fail 3 "$asset holds no $name"
  chmod 755 "$folder/$name"
  binary="$folder/$name"
}

# lines TEXT: the lines that are not blank, in `lines`.
lines() {
  local line
  lines=()
  while IFS= read -r line || [[ -n $line ]]; do
    line=${line%$'\r'}
    [[ -z ${line//[[:space:]]/} ]] || lines+=("$line")
  done <<<"$1"
}

version=${SCOREGATE_ACTION_VERSION:-$PINNED_VERSION}
version=${version#v}
binary=$(slashes "${SCOREGATE_ACTION_BINARY:-}")
if [[ -n $binary ]]; then
  [[ -f $binary && -x $binary ]] || fail 2 "the input \`binary\` is not an executable file: $binary"
  [[ $binary == */* ]] || binary=./$binary
else
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
    fail 2 "the input \`version\` is no version like $PINNED_VERSION: $version"
  target=$(target_triple) || { printf '%s\n' "$target"; exit 2; }
  installed_binary "$version" "$target"
fi

case "${SCOREGATE_ACTION_COMMENT:-true}" in
  true | false) comment=${SCOREGATE_ACTION_COMMENT:-true} ;;
  *) fail 2 "the input \`comment\` is neither true nor false" ;;
esac
case "${SCOREGATE_ACTION_ACCEPT:-false}" in
  true | false) accept=${SCOREGATE_ACTION_ACCEPT:-false} ;;
  *) fail 2 "the input \`accept-policy-changes\` is neither true nor false" ;;
esac
case "${SCOREGATE_ACTION_CHECK:-none}" in
  none | run | status) check=${SCOREGATE_ACTION_CHECK:-none} ;;
  *) fail 2 "the input \`check\` is none of none, run and status" ;;
esac

command=${SCOREGATE_ACTION_COMMAND:-run}
suite=${SCOREGATE_ACTION_SUITE:-scoregate.yaml}
arguments=("$command")

# option FLAG VALUE: where there is a value. What a command does not know, it refuses by name.
option() {
  [[ -z $2 ]] || arguments+=("$1=$2")
}
option --baseline "${SCOREGATE_ACTION_BASELINE:-}"
option --base "${SCOREGATE_ACTION_BASE:-}"
option --out "${SCOREGATE_ACTION_OUT:-}"
option --suite-name "${SCOREGATE_ACTION_SUITE_NAME:-}"
option --shard "${SCOREGATE_ACTION_SHARD:-}"
option --ledger "${SCOREGATE_ACTION_LEDGER:-}"
option --record "${SCOREGATE_ACTION_RECORD:-}"
option --replay "${SCOREGATE_ACTION_REPLAY:-}"
option --events "${SCOREGATE_ACTION_EVENTS:-}"
[[ $check == none ]] || arguments+=("--check=$check")
[[ $accept == false ]] || arguments+=(--accept-policy-changes)

lines "${SCOREGATE_ACTION_ARGUMENTS:-}"
arguments+=(${lines[@]+"${lines[@]}"})

lines "${SCOREGATE_ACTION_RESULTS:-}"
results=(${lines[@]+"${lines[@]}"})
case "$command" in
  run | merge) [[ $comment == true ]] || arguments+=(--no-comment) ;;
esac
case "$command" in
  run | check)
    [[ ${#results[@]} == 0 ]] || fail 2 "the input \`results\` is for \`merge\` and \`comment\`"
    arguments+=(-- "$suite")
    ;;
  merge)
    arguments+=("--suite=$suite" --)
    # A pattern stands for what it finds; what finds nothing goes on as it is, and is missed by name.
    for result in ${results[@]+"${results[@]}"}; do
      lines "$(compgen -G "$(slashes "$result")" || printf '%s\n' "$result")"
      arguments+=(${lines[@]+"${lines[@]}"})
    done
    ;;
  comment)
    [[ ${#results[@]} == 1 ]] || fail 2 "\`comment\` needs the folder of one run's reports as \`results\`"
    arguments+=(-- "${results[0]}")
    ;;
  *) fail 2 "the input \`command\` is none of run, merge, comment and check: $command" ;;
esac

if [[ -n ${GITHUB_OUTPUT:-} && $binary != *$'\n'* ]]; then
  printf 'binary=%s\n' "$binary" >>"$GITHUB_OUTPUT"
fi
# Git's bash would take an argument like /regex/ for a path of its own and rewrite it.
! on_windows || export MSYS_NO_PATHCONV=1 MSYS2_ARG_CONV_EXCL='*'
exec "$binary" "${arguments[@]}"
