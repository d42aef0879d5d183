import * as t from 'io-ts';
import { oneOf, optional } from '../decode.ts';
import type { Folders } from '../folders.ts';
import { type ForgeKind, forgeKinds, traitsOf } from '../forges/registry.ts';
import { readConcernPart } from './concern.ts';

/** The part of config/forges.json that says where forges are; the daemon checks the rest. */
const Forges = t.strict({
  forges: t.array(
    t.strict({
      name: t.string,
      kind: oneOf(forgeKinds),
      base_url: optional(t.string),
      root: optional(t.string),
    }),
  ),
});

export interface KnownForge {
  readonly name: string;
  readonly kind: ForgeKind;
  /** Where people open it in a browser; null for one in a folder. */
  readonly base: URL | null;
  /** The folder of `<owner>/<repo>/repository.git`, relative to the state folder; null for one at an address. */
  readonly root: string | null;
}

/** @throws InvalidInput (`config_invalid`) */
export function readKnownForges(folders: Pick<Folders, 'config'>): readonly KnownForge[] {
  return readConcernPart(Forges, 'forges', folders).forges.map(({ name, kind, base_url, root }) => {
    const { default_url, default_root } = traitsOf(kind);
    if (default_root !== null) return { name, kind, base: null, root: root ?? default_root };
    const address = base_url ?? default_url;
    return { name, kind, base: address === null ? null : URL.parse(address), root: null };
  });
}
