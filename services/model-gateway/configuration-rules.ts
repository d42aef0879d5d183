import { InvalidInput } from '#kit/errors.ts';

interface Entry {
  readonly kind?: string;
  readonly tier?: string | null;
  readonly upstreams: readonly { readonly kind: string }[];
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
