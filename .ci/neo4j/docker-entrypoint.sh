#!/bin/bash
# What the image's own entrypoint does as far as Core uses it: the account from NEO4J_AUTH or NEO4J_AUTH_FILE on the first start, and
# each NEO4J_a_b__c as the setting a.b_c.
set -euf
conf=$NEO4J_HOME/conf/neo4j.conf

settings() {
  echo 'server.default_listen_address=0.0.0.0'
  local name key
  for name in ${!NEO4J_@}; do
    case $name in NEO4J_HOME | NEO4J_CONF | NEO4J_AUTH | NEO4J_AUTH_FILE | NEO4J_EDITION) continue ;; esac
    key=${name#NEO4J_}
    key=${key//__/$'\n'} key=${key//_/.} key=${key//$'\n'/_}
    printf '%s=%s\n' "$key" "${!name}"
  done
}
settings >"$conf"

heap() { sed -n "s/^server\.memory\.heap\.$1=//p" "$conf"; }
first=$(heap initial_size) most=$(heap max_size)
java=(java "-Xms${first:-256m}" "-Xmx${most:-768m}" -XX:+UseSerialGC -cp "$NEO4J_HOME/lib/*")


if [ -n "${NEO4J_AUTH_FILE:-}" ]; then NEO4J_AUTH=$(cat "$NEO4J_AUTH_FILE"); fi
export NEO4J_CONF=$NEO4J_HOME/conf
if [ -n "${NEO4J_AUTH:-}" ] && [ ! -d /data/databases/neo4j ]; then
  "${java[@]}" org.neo4j.cli.AdminTool dbms set-initial-password "${NEO4J_AUTH#neo4j/}" >/dev/null
fi
unset NEO4J_AUTH NEO4J_AUTH_FILE
exec "${java[@]}" org.neo4j.server.CommunityEntryPoint "--home-dir=$NEO4J_HOME" "--config-dir=$NEO4J_CONF" --console-mode
