import { readFileSync } from 'node:fs';
import { codeOf, InvalidInput } from '#kit/errors.ts';
import { repeatedMember } from './repeated-member.ts';

interface Entry {
  readonly kind?: string;
  readonly tier?: string | null;
  readonly upstreams: readonly { readonly kind: string }[];
}

/** Of the file as it stands, which a parser has read already. @throws InvalidInput (`config_invalid`) */
export function checkRepeated(file: string): void {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  const pointer = repeatedMember(Buffer.from(text.replace(/^\uFEFF?\s*/, '')));
  if (pointer === null) return;
  throw invalid(`${file}: ${pointer} stands twice: must be there once, as the last would count alone`);
}

/** What holds between the entries of models. @throws InvalidInput (`config_invalid`) */
export function checkModels(
  file: string,
  { models }: { readonly models: Readonly<Record<string, Entry>> },
): void {
  const ofTier = new Map<string, string>();
  for (const [name, entry] of Object.entries(models)) {
    checkKinds(file, name, entry);
    const { tier = null, kind = 'chat' } = entry;
    if (tier === null || kind !== 'chat') continue;
    const other = ofTier.get(tier);
    if (other !== undefined) {
      throw invalid(
        `${file}: ${pointerTo(name)}/tier is ${JSON.stringify(tier)}, as that of ${pointerTo(other)}: must be of one chat model, which the planner's roles then ask; leave it out, or make one an upstream of the other`,
      );
    }
    ofTier.set(tier, name);
  }
}

function checkKinds(file: string, name: string, { kind, upstreams }: Entry): void {
  const at = kind === 'embeddings' ? upstreams.findIndex((one) => one.kind === 'anthropic') : -1;
  if (at === -1) return;
  throw invalid(
    `${file}: ${pointerTo(name)}/upstreams/${at}/kind is "anthropic": must be "openai" for a model of kind embeddings, as Anthropic has none`,
  );
}

function pointerTo(name: string): string {
  return `/models/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function invalid(message: string): InvalidInput {
  return new InvalidInput('config_invalid', message);
}
