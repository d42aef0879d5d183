/** Views of one run. `core runs` starts without them and the kinds of action behind them (bar of `bench -- start`). */
export { conversationOf, deletedContents } from '../../runs/conversation.ts';
export { approvalProblemLines, progressLines } from './action-table.ts';
export { actionDetails, actionsView, digestLines } from './actions-view.ts';
export { diffView } from './diff-view.ts';
export { failedStep } from './failed-step.ts';
export { patchAuthorLines, planView } from './plan-view.ts';
export {
  conversationView,
  recordView,
  recoveryView,
  undoPlanView,
  undoResultView,
  verificationView,
} from './reports.ts';
export { movedLines, runView } from './run-view.ts';
