import { StartError } from '../start-error.ts'
import { nearest } from '../terminal/nearest.ts'

/** A construct's id is not the logical id of its function: so the error says which there are. */
export function noSuchFunction(functionId: string, ids: readonly string[]): StartError {
  const meant = nearest(functionId, ids)
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  return new StartError(
    `Cannot run ${functionId} because no function of the template has this logical id${hint} ` +
      `(${ids.toSorted().join(', ')})`,
  )
}
