/** The last part of a qualified name, as its users write it. */
export function simpleName(name: string): string {
  return /[^.:#]*$/.exec(name)![0];
}
