import { nearest } from '../../local/terminal/nearest.ts'
import { wrongUsage } from '../failure.ts'
import type { Check } from './check.ts'
import { allChecks } from './checks.ts'

/** The checks that `--only order,text` names, or all of them. */
export function chosenChecks(only: string | undefined): readonly Check[] {
  if (only === undefined) return allChecks
  const names = only.split(',').map((name) => name.trim())
  for (const name of names) {
    if (allChecks.some((check) => check.name === name)) continue
    const meant = nearest(
      name,
      allChecks.map((check) => check.name),
    )
    const hint = meant === undefined ? '--list shows them' : `did you mean ${meant}?`
    throw wrongUsage(`Cannot verify because there is no check ${JSON.stringify(name)}; ${hint}`)
  }
  return allChecks.filter((check) => names.includes(check.name))
}
