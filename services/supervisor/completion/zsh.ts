import { wordsOf } from './bash.ts';
import type { Place } from './words.ts';

export function zshScript(places: readonly Place[]): string {
  return `#compdef core
# Completes the commands of core in zsh. Put this into ~/.zshrc, behind compinit:
#   source <(core completion zsh)
__core_words() {
  reply=()
  case "$1:$2" in
${places.flatMap(casesOf).join('\n')}
  esac
}

__core_runs() {
  local -a runs
  runs=(\${(f)"$("$1" runs --limit 50 \${=2} 2>/dev/null | awk '/^run_/ { number = $3; sub(/.*#/, "", number); print $1 ":" $3 ", " $2; print $3 ":" $2; print number ":" $3 }')"})
  runs+=('last:the newest run')
  _describe -V 'run' runs
}

_core() {
  local -a reply shown names
  local word current_path option home
  local -i index
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    if [[ -n "$option" ]]; then
      [[ "$option" == --home ]] && home="--home $word"
      option=
      continue
    fi
    if [[ "$word" == -* ]]; then
      __core_words values "$current_path"
      (( \${reply[(Ie)$word]} )) && option="$word"
    else
      __core_words commands "$current_path"
      names=(\${reply%%:*})
      (( \${names[(Ie)$word]} )) && current_path="\${current_path:+$current_path }$word"
    fi
  done
  if [[ -n "$option" ]]; then
    __core_words "$option" "$current_path"
  elif [[ "\${words[CURRENT]}" == -* ]]; then
    __core_words options "$current_path"
  else
    __core_words commands "$current_path"
    shown=("\${reply[@]}")
    __core_words argument "$current_path"
    reply=("\${shown[@]}" "\${reply[@]}")
  fi
  shown=(\${reply:#'<'*})
  (( \${#shown} )) && _describe 'core' shown
  (( \${reply[(Ie)<files>]} )) && _files
  (( \${reply[(Ie)<runs>]} )) && __core_runs "\${words[1]}" "$home"
  return 0
}

compdef _core core
`;
}

function casesOf({ path, commands, options, argument }: Place): string[] {
  const row = (what: string, texts: readonly string[]) =>
    texts.length === 0 ? [] : [`  '${what}:${path}') reply=(${texts.join(' ')}) ;;`];
  const described = (all: readonly { readonly name: string; readonly about: string }[]) =>
    all.map(({ name, about }) => quoted(`${name.replaceAll(':', '\\:')}:${about}`));
  return [
    ...row('commands', described(commands)),
    ...row('options', described(options)),
    ...row(
      'values',
      options.filter(({ value }) => value !== null).map(({ name }) => name),
    ),
    ...options.flatMap(({ name, value }) => row(name, value === null ? [] : words(wordsOf(value)))),
    ...row('argument', argument === null ? [] : words(wordsOf(argument))),
  ];
}

function words(text: string): string[] {
  return text === '' ? [] : text.split(' ').map(quoted);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
