import * as t from 'io-ts';
import { mergedDocument, readConcernDocument } from '#kit/config/concern.ts';
import { decode, oneOf, optional } from '#kit/decode.ts';
import type { Folders } from '#kit/folders.ts';

/** The part of config/forges.json that the bridge needs; the daemon checks the rest. */
const Forges = t.strict({
  forges: t.array(
    t.strict({
      name: t.string,
      kind: oneOf(['local', 'github', 'gitea']),
      base_url: optional(t.string),
    }),
  ),
});

export interface KnownForge {
  readonly name: string;
  readonly kind: 'local' | 'github' | 'gitea';
  /** Where people open it in a browser; null for a local one. */
  readonly base: URL | null;
}

/** @throws InvalidInput (`config_invalid`) */
export function readKnownForges(folders: Pick<Folders, 'config'>): readonly KnownForge[] {
  const { document, path } = mergedDocument(readConcernDocument('forges', folders));
  return decode(Forges, document, path, 'config_invalid').forges.map(({ name, kind, base_url }) => {
    const address = base_url ?? (kind === 'github' ? 'https://github.com' : null);
    return { name, kind, base: address === null ? null : URL.parse(address) };
  });
}
