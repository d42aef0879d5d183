export { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
