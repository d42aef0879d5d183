import type { Place, Value } from './words.ts';

/** Bash 3.2 and later, which knows no associative arrays. */
export function bashScript(places: readonly Place[]): string {
  return `# Completes the commands of core in bash. Put this into ~/.bashrc:
#   source <(core completion bash)
__core_words() {
  reply=
  case "$1:$2" in
${places.flatMap(casesOf).join('\n')}
  esac
}

__core_runs() {
  "$1" runs --limit 50 $2 2>/dev/null | awk '/^run_/ { number = $3; sub(/.*#/, "", number); print $1; print $3; print number }'
}

_core() {
  local reply words word path= option= home= index current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [ -n "$option" ]; then
      [ "$option" = --home ] && home="--home $word"
      option=
      continue
    fi
    case "$word" in
    -*)
      __core_words values "$path"
      case " $reply " in *" $word "*) option="$word" ;; esac
      ;;
    *)
      __core_words commands "$path"
      case " $reply " in *" $word "*) path="\${path:+$path }$word" ;; esac
      ;;
    esac
  done
  if [ -n "$option" ]; then
    __core_words "$option" "$path"
  elif [[ "$current" == -* ]]; then
    __core_words options "$path"
  else
    __core_words commands "$path"
    words="$reply"
    __core_words argument "$path"
    reply="$words $reply"
  fi
  case " $reply " in
  *' <files> '*) COMPREPLY=($(compgen -W "\${reply//<files>/}" -- "$current") $(compgen -f -- "$current")) ;;
  *' <runs> '*)
    COMPREPLY=($(compgen -W "\${reply//<runs>/} last $(__core_runs "\${COMP_WORDS[0]}" "$home")" -- "$current"))
    ;;
  *) COMPREPLY=($(compgen -W "$reply" -- "$current")) ;;
  esac
}

complete -o filenames -F _core core
`;
}

function casesOf({ path, commands, options, argument }: Place): string[] {
  const withValue = options.flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]));
  const row = (what: string, text: string) =>
    text === '' ? [] : [`  '${what}:${path}') reply='${text}' ;;`];
  return [
    ...row('commands', namesOf(commands)),
    ...row('options', namesOf(options)),
    ...row('values', namesOf(withValue)),
    ...withValue.flatMap(({ name, value }) => row(name, wordsOf(value))),
    ...row('argument', argument === null ? '' : wordsOf(argument)),
  ];
}

function namesOf(all: readonly { readonly name: string }[]): string {
  return all.map(({ name }) => name).join(' ');
}

/** Nothing in them needs a quote: names of runs and files are marks that the script replaces. */
export function wordsOf(value: Value): string {
  return typeof value === 'string' ? `<${value}>` : value.join(' ');
}
