import { Conflict, Interrupted, messageOf, NotFound, Unavailable } from '#kit/errors.ts';
import type { RepositoryRef } from '../ports/forge.ts';
import type { ConfiguredForge } from './configured-forge.ts';
import { checkRepositoryRef, nameOf } from './names.ts';
import type { Forges } from './registry.ts';

/**
 * The forge that is meant. With `forge` the one of that name, else the only one that knows owner and repository: two
 * that know it are an error, and so is one that cannot be asked, since it might know it too.
 * @throws NotFound `forge_not_found` or `repository_not_found`, Conflict `forge_ambiguous`, Unavailable `forge_unavailable`
 */
export async function forgeFor(
  forges: Forges,
  request: RepositoryRef & { readonly forge?: string | undefined },
  signal?: AbortSignal,
): Promise<ConfiguredForge> {
  checkRepositoryRef(request);
  if (request.forge !== undefined) return namedForge(forges, request.forge);
  const ready = [...forges.values()].filter((forge) => forge.missing() === null);
  const answers = await Promise.all(ready.map((forge) => knows(forge, request, signal)));
  const interrupted = answers.find((answer) => answer instanceof Interrupted);
  if (interrupted !== undefined) throw interrupted;
  const knowing = ready.filter((_, index) => answers[index] === true);
  const wanted = nameOf(request);
  const names = knowing.map(({ name }) => name);
  if (knowing.length > 1) {
    throw new Conflict('forge_ambiguous', `${wanted} is known to several forges: ${names.join(', ')}`, {
      facts: { forges: names },
      hint: `say which with --forge ${names[0]}`,
    });
  }
  const silent = answers.findIndex((answer) => answer instanceof Error);
  if (silent >= 0 && ready.length > 1)
    throw cannotTell(ready[silent]!.name, wanted, answers[silent], names[0]);
  if (silent >= 0) throw answers[silent];
  if (knowing[0] !== undefined) return knowing[0];
  const asked = ready.map(({ name }) => name).join(', ') || 'none';
  const others = [...forges.values()].flatMap((forge) => {
    const missing = forge.missing();
    return missing === null ? [] : [`${forge.name} (no ${missing})`];
  });
  const unasked = others.length === 0 ? '' : `; not asked: ${others.join(', ')}`;
  throw new NotFound('repository_not_found', `no forge knows ${wanted}; asked: ${asked}${unasked}`, {
    hint: `make it with './core forge init --owner ${request.owner} --repo ${request.repo}', or name a forge with --forge`,
  });
}

function namedForge(forges: Forges, name: string): ConfiguredForge {
  const forge = forges.get(name);
  if (forge !== undefined) return forge;
  throw new NotFound(
    'forge_not_found',
    `there is no forge '${name}'; there are ${[...forges.keys()].join(', ')}`,
    {
      hint: 'forges are named in config/forges.json',
    },
  );
}

async function knows(
  forge: ConfiguredForge,
  ref: RepositoryRef,
  signal: AbortSignal | undefined,
): Promise<boolean | Error> {
  try {
    await forge.repository(ref, signal);
    return true;
  } catch (error) {
    if (error instanceof NotFound) return false;
    return error instanceof Error ? error : new Error(messageOf(error), { cause: error });
  }
}

function cannotTell(forge: string, wanted: string, cause: unknown, known: string | undefined): Unavailable {
  const also = known === undefined ? '' : `; '${known}' does`;
  return new Unavailable(
    'forge_unavailable',
    `forge '${forge}' cannot be asked whether it knows ${wanted}${also}: ${messageOf(cause)}`,
    { cause, hint: `say which forge is meant with --forge ${known ?? forge}` },
  );
}
