import { InvalidInput } from '#kit/errors.ts';

/**
 * A forge's word on where git fetches from, before git sees it: git has transports that run programs, and paths
 * of this machine are no business of a forge elsewhere.
 */
export function checkedCloneUrl(cloneUrl: string, forge: { name: string; base_url: string }): string {
  if (/^(https?|ssh):\/\/[^-\s]\S*$/.test(cloneUrl)) return cloneUrl;
  const { hostname } = new URL(forge.base_url);
  const here = hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
  if (here && /^(file:\/\/)?\/[^\0\n]*$/.test(cloneUrl)) return cloneUrl;
  throw new InvalidInput(
    'forge_reply_invalid',
    `forge '${forge.name}' names the clone URL '${cloneUrl.slice(0, 200)}'; only https, http and ssh are used`,
  );
}
