// CloudFormation's functions, as far as a template that the CDK wrote uses them.

import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import { ACCOUNT, REGION } from './identities.ts'

/** Where references lead to. */
export type Names = {
  readonly stackName: string
  ref(logicalId: string): unknown
  attribute(logicalId: string, name: string): unknown
  importValue(name: string): unknown
  findInMap(map: string, key: string, second: string): unknown
  /** What stands under `Conditions`, not yet resolved. */
  condition(name: string): unknown
}

/** The result of `AWS::NoValue`: the property or entry is left out. */
const noValue = Symbol('AWS::NoValue')

export function resolve(value: unknown, names: Names): unknown {
  const resolved = resolveDeep(value, names)
  return resolved === noValue ? undefined : resolved
}

function resolveDeep(value: unknown, names: Names): unknown {
  if (Array.isArray(value)) {
    return value.map((entry) => resolveDeep(entry, names)).filter((entry) => entry !== noValue)
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value)
  const [only] = entries
  if (entries.length === 1 && only && (only[0] === 'Ref' || only[0].startsWith('Fn::'))) {
    return call(only[0], only[1], names)
  }
  return Object.fromEntries(
    entries
      .map(([name, entry]) => [name, resolveDeep(entry, names)] as const)
      .filter(([, entry]) => entry !== noValue),
  )
}

function call(name: string, argument: unknown, names: Names): unknown {
  const all = () => resolveDeep(argument, names) as readonly unknown[]
  switch (name) {
    case 'Ref':
      return pseudoParameter(String(argument), names) ?? names.ref(String(argument))
    case 'Fn::GetAtt': {
      const [id, ...attribute] =
        typeof argument === 'string' ? argument.split('.') : (argument as string[])
      return names.attribute(id ?? '', String(resolveDeep(attribute.join('.'), names)))
    }
    case 'Fn::Sub':
      return substitute(argument, names)
    case 'Fn::Join': {
      const [separator, parts] = all() as [string, unknown[]]
      return parts.join(separator)
    }
    case 'Fn::Select': {
      const [index, list] = all() as [number | string, unknown[]]
      return list[Number(index)]
    }
    case 'Fn::Split': {
      const [separator, text] = all() as [string, string]
      return text.split(separator)
    }
    case 'Fn::ImportValue':
      return names.importValue(String(resolveDeep(argument, names)))
    case 'Fn::FindInMap': {
      const [map, key, second] = all() as [string, string, string]
      return names.findInMap(map, key, second)
    }
    case 'Fn::Base64':
      return Buffer.from(String(resolveDeep(argument, names))).toString('base64')
    case 'Fn::If': {
      const [condition, then, otherwise] = argument as [string, unknown, unknown]
      return resolveDeep(holds(names.condition(condition), names) ? then : otherwise, names)
    }
    default:
      throw new StartError(`Cannot run the template because the local stack does not know ${name}`)
  }
}

/** Whether what stands under `Conditions` is true. */
export function holds(condition: unknown, names: Names): boolean {
  const [name, argument] = (isObject(condition) && Object.entries(condition)[0]) || ['nothing', []]
  const parts = argument as unknown[]
  switch (name) {
    case 'Condition':
      return holds(names.condition(String(argument)), names)
    case 'Fn::Equals':
      return String(resolveDeep(parts[0], names)) === String(resolveDeep(parts[1], names))
    case 'Fn::Not':
      return !holds(parts[0], names)
    case 'Fn::And':
      return parts.every((part) => holds(part, names))
    case 'Fn::Or':
      return parts.some((part) => holds(part, names))
    default:
      throw new StartError(
        `Cannot run the template because the local stack does not know the condition ${name}`,
      )
  }
}

function substitute(argument: unknown, names: Names): string {
  const [text, own] = Array.isArray(argument) ? argument : [argument, {}]
  // `${!name}` is how a template writes `${name}` itself.
  return String(text).replace(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
    if (literal) return `\${${name}}`
    if (isObject(own) && name in own) return String(resolveDeep(own[name], names))
    if (name.includes('.')) return String(call('Fn::GetAtt', name, names))
    return String(call('Ref', name, names))
  })
}

function pseudoParameter(name: string, { stackName }: Names): unknown {
  switch (name) {
    case 'AWS::Region':
      return REGION
    case 'AWS::AccountId':
      return ACCOUNT
    case 'AWS::Partition':
      return 'aws'
    case 'AWS::URLSuffix':
      return 'amazonaws.com'
    case 'AWS::StackName':
      return stackName
    case 'AWS::StackId':
      return `arn:aws:cloudformation:${REGION}:${ACCOUNT}:stack/${stackName}/local`
    case 'AWS::NoValue':
      return noValue
    default:
      return undefined
  }
}
