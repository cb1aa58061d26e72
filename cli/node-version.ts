import { isNode, nodeTooOld } from '../lambdas/foundation/node-version.ts'
import { failed } from './failure.ts'

export function needNode(...[wanted, what]: Parameters<typeof nodeTooOld>): void {
  if (!isNode(wanted)) throw failed(nodeTooOld(wanted, what))
}
