#!/usr/bin/env bash
# The action: find the binary, check it, become it.
#
# Inputs come as SCOREGATE_ACTION_* variables (see action.yml) and are only ever used as quoted words. The binary writes
# outputs, summary and comment itself; `exec` hands over the process, so its exit code and the runner's signals are its own.
# Exit codes here: 2 the inputs are wrong, 3 the binary could not be fetched or is not the one whose checksum we hold.
set -euo pipefail

# The version that this action runs unless told otherwise.
PINNED_VERSION=0.1.0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# fail CODE MESSAGE: an annotation, escaped as the runner wants it, outputs that are no pass, and the end.
fail() {
  local text=$2
  [[ -z ${GITHUB_OUTPUT:-} ]] ||
    printf '%s\n' verdict=not_evaluated passed=false "exit-code=$1" regressions=0 >>"$GITHUB_OUTPUT"
  text=${text//'%'/%25}
  text=${text//$'\r'/%0D}
  text=${text//$'\n'/%0A}
  printf '::error title=scoregate::%s\n' "$text"
  exit "$1"
}

target_triple() {
  local system machine
  system=$(uname -s)
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
    sha256sum "$1" | cut -d ' ' -f 1
  else
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

# expected_sha256 ASSET: from the table, by the whole name; empty where there is none.
expected_sha256() {
  awk -v asset="$1" '$1 ~ /^[0-9a-f]+$/ && length($1) == 64 && $2 == asset && NF == 2 { print $1; exit }' \
    "$here/checksums.txt"
}

# download URL FILE: https only, except where a test serves the file.
download() {
  local protocols='=https'
  [[ -z ${SCOREGATE_TEST_DOWNLOADS:-} ]] || protocols='=http,https,file'
  curl --fail --silent --show-error --location --proto "$protocols" --proto-redir "$protocols" \
    --connect-timeout 20 --max-time 300 --retry 3 --output "$2" "$1"
}

# attested ARCHIVE REPOSITORY: where the GitHub CLI and a token are there, the build's provenance is checked as well.
attested() {
  command -v gh >/dev/null || return 0
  [[ -n ${GITHUB_TOKEN:-} && -z ${SCOREGATE_TEST_DOWNLOADS:-} ]] || return 0
  GH_TOKEN=$GITHUB_TOKEN gh attestation verify "$1" --repo "$2" >/dev/null
}

# installed_binary: the path of the checked binary, installing it first where needed.
# The archive is kept and checked each time: what else writes to the tool cache is not known.
installed_binary() {
  local version=$1 target=$2
  local asset="scoregate-$version-$target.tar.gz"
  local expected
  expected=$(expected_sha256 "$asset")
  [[ -n $expected ]] || fail 2 "this action holds no checksum for $asset, so it will not run it. Use a version that \
is in .github/action/checksums.txt, or build scoregate in the job and pass its path as \`binary\`"

  local folder="${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/scoregate/$version/${target%%-*}"
  local archive="$folder/$asset"
  mkdir -p "$folder"
  work=$(mktemp -d "$folder/new.XXXXXX")
  trap 'rm -rf "$work"' EXIT

  if [[ ! -f $archive || $(sha256_of "$archive") != "$expected" ]]; then
    local repository=${SCOREGATE_ACTION_REPOSITORY:-${GITHUB_ACTION_REPOSITORY:-}}
    [[ $repository =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] ||
      fail 2 "the action does not know its own repository (it runs from a local path): pass a path as \`binary\`"
    local base=${SCOREGATE_TEST_DOWNLOADS:-${GITHUB_SERVER_URL:-https://github.com}/$repository/releases/download}
    download "$base/v$version/$asset" "$work/$asset" || fail 3 "could not download $base/v$version/$asset"
    local actual
    actual=$(sha256_of "$work/$asset")
    [[ $actual == "$expected" ]] || fail 3 "$asset is not what it should be: its SHA-256 is $actual, this action holds \
$expected. Nothing was run"
    attested "$work/$asset" "$repository" || fail 3 "$asset has no valid build attestation of $repository. Nothing was run"
    mv -f "$work/$asset" "$archive"
  fi

  local name=scoregate
  [[ $target != *windows* ]] || name=scoregate.exe
  tar -xzf "$archive" -C "$work" "$name" || fail 3 "$asset holds no $name"
  chmod 755 "$work/$name"
  mv -f "$work/$name" "$folder/$name"
  rm -rf "$work"
  trap - EXIT
  binary="$folder/$name"
}

version=${SCOREGATE_ACTION_VERSION:-$PINNED_VERSION}
version=${version#v}
binary=${SCOREGATE_ACTION_BINARY:-}
if [[ -n $binary ]]; then
  [[ -f $binary && -x $binary ]] || fail 2 "the input \`binary\` is not an executable file: $binary"
  [[ $binary == */* ]] || binary=./$binary
else
  [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
    fail 2 "the input \`version\` is no version like $PINNED_VERSION: $version"
  target=$(target_triple) || { printf '%s\n' "$target"; exit 2; }
  installed_binary "$version" "$target"
fi

arguments=(run)
[[ -z ${SCOREGATE_ACTION_BASELINE:-} ]] || arguments+=("--baseline=$SCOREGATE_ACTION_BASELINE")
[[ -z ${SCOREGATE_ACTION_OUT:-} ]] || arguments+=("--out=$SCOREGATE_ACTION_OUT")
[[ -z ${SCOREGATE_ACTION_BASE:-} ]] || arguments+=("--base=$SCOREGATE_ACTION_BASE")
case "${SCOREGATE_ACTION_ACCEPT:-false}" in
  true) arguments+=(--accept-policy-changes) ;;
  false | '') ;;
  *) fail 2 "the input \`accept-policy-changes\` is neither true nor false" ;;
esac
case "${SCOREGATE_ACTION_COMMENT:-true}" in
  true) ;;
  false) arguments+=(--no-comment) ;;
  *) fail 2 "the input \`comment\` is neither true nor false" ;;
esac
arguments+=(-- "${SCOREGATE_ACTION_SUITE:-scoregate.yaml}")

exec "$binary" "${arguments[@]}"
