/** @param program as people call it, for example `./core model` */
export function noModel(program: string): string {
  return `No model is configured. ${program} add asks for one, tries it and writes it down.\n`;
}
