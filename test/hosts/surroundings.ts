import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresSettings } from '#kit/config/storage.ts';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGitServer } from '../fixtures/forges/git-server.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { type StandbyPair, startPostgresPair } from '../fixtures/postgres-standby.ts';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { type S3Server, startS3 } from '../fixtures/s3.ts';
import { makeSelfSigned } from '../fixtures/self-signed.ts';
import { helloFiles, ref } from '../fixtures/world/world.ts';
import type { HostNetwork } from './network.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** What hosts share: a database with a synchronous standby, a forge, and a provider of models. */
export interface Surroundings {
  readonly pair: StandbyPair;
  readonly database: PostgresSettings;
  readonly forge: ForgeServer;
  readonly forgeUrl: string;
  readonly gitUrl: string;
  readonly served: ServedRepository;
  readonly upstream: Upstream;
  readonly s3: S3Server;
  close(): Promise<void>;
}

/** The bucket has a place of its own in the network, so that it can be cut off. */
export const bucket = 's3';

export async function startSurroundings(folder: string, network: HostNetwork): Promise<Surroundings> {
  const address = network.outside;
  const s3Address = network.addressOf(bucket);
  const s3 = await startS3(makeSelfSigned(folder, [s3Address]), {
    host: s3Address,
    enter: network.enter(bucket),
  });
  const pair = await startPostgresPair('synchronous', address);
  const inTheClear = await pair.database();
  const database = { ...inTheClear, url: `${inTheClear.url}?sslmode=disable` };
  const forge = await startGiteaServer('0.0.0.0');
  const root = join(folder, 'git');
  const bare = join(root, ref.owner, `${ref.repo}.git`);
  mkdirSync(join(root, ref.owner), { recursive: true });
  execFileSync('git', ['clone', '-q', '--bare', makeRepository(helloFiles).dir, bare]);
  execFileSync('git', ['-C', bare, 'config', 'core.logAllRefUpdates', 'always']);
  const git = await startGitServer(root, address);
  const served = forge.state.addRepository({
    ...ref,
    bare,
    clone_url: `${git.url}/${ref.owner}/${ref.repo}.git`,
    collaborators: ['mira', forge.state.account],
  });
  const upstream = await startUpstream(address);
  return {
    ...{ pair, database, forge, served, upstream, s3, gitUrl: git.url },
    forgeUrl: `http://${address}:${new URL(forge.url).port}`,
    async close() {
      await upstream.close();
      git.close();
      await forge.close();
      await pair.stop();
      await s3.kill();
    },
  };
}
