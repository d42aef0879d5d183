/** A number with its noun, for example `1 run` or `1,024 runs`. @param many plural of a noun that does not end in `s` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
