/** Where the command stands in a command line: the first word that is neither an option nor the value of `--home`; -1 without one. */
export function commandIndex(args: readonly string[]): number {
  return args.findIndex((word, index) => !word.startsWith('-') && args[index - 1] !== '--home');
}
