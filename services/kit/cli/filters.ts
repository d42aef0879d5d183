/** The options that narrow a list, as they are typed; empty where none does. A page of it is no filter. */
export function filtersOf(options: Readonly<Record<string, unknown>>): string {
  const paging = ['limit', 'cursor', 'all'];
  return Object.entries(options)
    .filter(([name, value]) => value !== undefined && !paging.includes(name))
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((one) => `--${kebab(name)} ${String(one)}`),
    )
    .join(' ');
}

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
