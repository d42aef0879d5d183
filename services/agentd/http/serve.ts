import { readSettings, type SettingFlags, type Settings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { serveService } from '#kit/http/serve-service.ts';
import { openServiceProcess } from '#kit/service-process.ts';
import type { Agent } from '../agent.ts';
import { readWorkConfiguration } from '../work-configuration.ts';
import { arrowChecks } from './arrow-checks.ts';
import { BackgroundWork } from './background-work.ts';
import { daemonParts } from './daemon-parts.ts';
import { createStatusCommand } from './status-command.ts';
import { tellContext } from './tell-context.ts';

export interface DaemonStart {
  readonly home: string | undefined;
  readonly flags: SettingFlags;
}

/** @throws InvalidInput (`config_invalid`) for what the daemon itself needs, and for what planning and execution will */
export function readConfiguration({ home, flags }: DaemonStart): Settings {
  const folders = resolveFolders({ home }, environment);
  readWorkConfiguration(folders);
  return readSettings({ folders, environment, flags });
}

/** Runs the daemon until a signal comes or the process that started it is gone. @returns the exit code */
export function serve({ agent, home, flags }: DaemonStart & { readonly agent: Agent }): Promise<number> {
  const settings = readConfiguration({ home, flags });
  const own = openServiceProcess('core-agentd', { home, flags });
  const { folders, logger, shutdown } = own;
  const work = new BackgroundWork(logger);
  shutdown.add('the work on runs', () => work.close());
  // Answers wait for it.
  shutdown.signal.addEventListener('abort', () => void work.close());
  const arrows = arrowChecks({ folders, environment, settings, agent });
  shutdown.add('its clients', () => arrows.close());
  const status = createStatusCommand(folders);
  return serveService(own, {
    concern: 'agentd',
    binding: settings.agentd,
    parts: daemonParts({ ...own, agent, settings, status, checks: arrows.checks }, work),
    listening() {
      const telling = tellContext(agent, logger);
      shutdown.add('telling the context service', () => telling.end());
    },
  });
}
