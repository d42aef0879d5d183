import { changesPage } from './changes-page.ts';
import { chartFiles } from './charts/chart-files.ts';
import { commandsPage } from './commands/commands-page.ts';
import { endpointPages } from './endpoints/endpoint-pages.ts';
import type { GeneratedPage } from './generated-page.ts';
import { settingsPage } from './settings/settings-page.ts';

/** Everything on the site that is made of the source. */
export async function generatedPages(): Promise<GeneratedPage[]> {
  return [await commandsPage(), ...(await endpointPages()), settingsPage(), changesPage(), ...chartFiles()];
}
