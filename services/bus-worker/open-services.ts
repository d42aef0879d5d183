import { agentdUrl, bridgeUrl } from '#kit/config/client-urls.ts';
import { readSettings } from '#kit/config/settings.ts';
import type { Environment } from '#kit/environment.ts';
import { Refused } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { followingClient } from '#kit/http/following-client.ts';
import { serviceToken } from '#kit/tokens.ts';
import type { Services } from './functions/services.ts';

/** The services of this installation, wherever they are when they are asked. */
export function openServices(sources: {
  readonly folders: Folders;
  readonly environment: Environment;
}): Services & { close(): Promise<void> } {
  const follow = (url: () => string) =>
    followingClient(() => ({ baseUrl: url(), token: serviceToken(sources.folders, 'worker') }));
  const agentd = follow(() => agentdUrl(sources));
  const context = follow(() => contextUrl(sources));
  const bridge = follow(() => bridgeUrl(sources));
  return {
    agentd,
    context,
    bridge,
    answerMs: readSettings(sources).answers.seconds * 1000,
    async close() {
      await Promise.all([agentd.close(), context.close(), bridge.close()]);
    },
  };
}

function contextUrl(sources: { readonly folders: Folders; readonly environment: Environment }): string {
  const { url } = readSettings(sources).context;
  if (url !== null) return url;
  throw new Refused('context_not_configured', 'this installation does without the context service', {
    hint: 'Set context.url in core.json, for example http://127.0.0.1:8090.',
  });
}
