import * as t from 'io-ts';
import { GivenSignature } from '#kit/contracts/action.ts';
import { decodeJson, Sha256 } from '#kit/decode.ts';
import { childEnvironment } from '#kit/environment.ts';
import { Failed } from '#kit/errors.ts';
import type { Decision, SignedDecision } from '../state/state.ts';
import { core, saidFailure } from './core-command.ts';

const Printed = t.strict({ digest: Sha256, signature: GivenSignature });

/**
 * Signs approvals as the command line does, with the person's SSH key: `ssh-keygen` may ask for a passphrase on the terminal, which
 * must be free for it. What is signed are the digests that were on the screen.
 * @param approver name of the token that will decide
 * @throws Failed (`signing_failed`) with what the command said
 */
export async function signHere({
  runId,
  actions,
  approver,
  home,
}: {
  readonly runId: string;
  readonly actions: readonly Decision[];
  readonly approver: string;
  readonly home: string | undefined;
}): Promise<readonly SignedDecision[]> {
  const ids = actions.map(({ action_id }) => action_id);
  const digests = actions.flatMap(({ digest }) => ['--digest', digest]);
  const args = ['approve', '--run-id', runId, ...ids, ...digests, '--sign', '--as', approver, '--json'];
  const { execa } = await import('execa');
  const { exitCode, stdout, stderr } = await execa(
    core,
    home === undefined ? args : [...args, '--home', home],
    {
      stdio: ['inherit', 'pipe', 'pipe'],
      extendEnv: false,
      env: childEnvironment({}),
      reject: false,
    },
  );
  if (exitCode !== 0)
    throw (
      saidFailure('signing_failed', stderr.split('\n')) ??
      new Failed('signing_failed', 'The signing was stopped; nothing was approved')
    );
  const printed = stdout.split('\n').map((line) => decodeJson(Printed, line, 'a signed request'));
  return actions.map((action, index) => {
    const one = printed[index];
    if (one?.digest !== action.digest)
      throw new Failed('signing_failed', `no signature of the digest ${action.digest} came back`);
    return { ...action, signature: one.signature };
  });
}
