import { wordsOf } from './bash.ts';
import type { Place } from './words.ts';

export function fishScript(places: readonly Place[]): string {
  return `# Completes the commands of core in fish. Once:
#   core completion fish > ~/.config/fish/completions/core.fish
function __core_words
    switch "$argv[1]:$argv[2]"
${places.flatMap(casesOf).join('\n')}
    end
end

function __core_path
    set -l path
    set -l option
    for word in (commandline -opc)[2..-1]
        if set -q option[1]
            set -e option
        else if string match -q -- '-*' $word
            contains -- $word (__core_words values "$path"); and set option $word
        else if contains -- $word (__core_words commands "$path")
            set -a path $word
        end
    end
    echo "$path"
end

function __core_at
    test "$(__core_path)" = "$argv[1]"
end

function __core_runs
    set -l words (commandline -opc)
    set -l home
    if set -l at (contains -i -- --home $words)
        set home --home $words[(math $at + 1)]
    end
    $words[1] runs --limit 50 $home 2>/dev/null | awk '/^run_/ { number = $3; sub(/.*#/, "", number); print $1 "\\t" $3 ", " $2; print $3 "\\t" $2; print number "\\t" $3 }'
    printf 'last\\tthe newest run\\n'
end

complete -c core -e
complete -c core -f
${places.flatMap(completionsOf).join('\n')}
`;
}

/** What the path is found by. */
function casesOf({ path, commands, options }: Place): string[] {
  const withValue = options.filter(({ value }) => value !== null);
  const row = (what: string, all: readonly { readonly name: string }[]) =>
    all.length === 0
      ? []
      : [
          `        case '${what}:${path}'`,
          `            printf '%s\\n' ${all.map(({ name }) => name).join(' ')}`,
        ];
  return [...row('commands', commands), ...row('values', withValue)];
}

function completionsOf({ path, commands, options, argument }: Place): string[] {
  const here = `complete -c core -n '__core_at "${path}"'`;
  const of = (words: string) => {
    if (words === '<files>') return '-F';
    return words === '<runs>' ? `-xa '(__core_runs)'` : `-xa '${words}'`;
  };
  return [
    ...commands.map(({ name, about }) => `${here} -a ${name} -d ${quoted(about)}`),
    ...options.map(({ name, about, value }) => {
      const takes = value === null ? '' : ` -r ${of(wordsOf(value))}`;
      return `${here} -l ${name.replace(/^--/, '')}${takes} -d ${quoted(about)}`;
    }),
    ...(argument === null || argument.length === 0
      ? []
      : [`${here} ${of(wordsOf(argument)).replace('-xa', '-a')}`]),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
