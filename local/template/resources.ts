// The resources of all stacks, with their references resolved: CloudFormation's functions, as far as a template that
// the CDK wrote uses them, and properties as text, numbers and objects.

import { StartError } from '../start-error.ts'
import { isObject, type Resource, type StackTemplate } from './assembly.ts'
import {
  ACCOUNT,
  attributeOf,
  type Identity,
  identify,
  nameProperty,
  REGION,
} from './identities.ts'

export type ResolvedResource = Identity & {
  /** Of one resource of all stacks. */
  readonly logicalId: string
  readonly stackName: string
  readonly type: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly directory: string
  /** Resolved on demand: a resource that we do not run may use anything. */
  property(name: string): unknown
}

export class Resources {
  readonly all: readonly ResolvedResource[]

  constructor(stacks: readonly StackTemplate[]) {
    const exported = new Map<string, () => unknown>()
    const importValue = (name: string) => {
      const value = exported.get(name)
      if (value) return value()
      throw new StartError(`Cannot run the template because no stack of the app exports ${name}`)
    }
    const all = stacks.flatMap((stack) => {
      const names = namesOf(stack, importValue)
      for (const { Value, Export } of Object.values(stack.template.Outputs ?? {})) {
        if (Export) exported.set(String(resolve(Export.Name, names)), () => resolve(Value, names))
      }
      return resourcesOf(stack, names)
    })
    this.all = withUniqueIds(all)
  }

  ofType(type: string): readonly ResolvedResource[] {
    return this.all.filter((resource) => resource.type === type)
  }

  /** By its `Ref` or its ARN, which is how a template points at a resource. */
  find(type: string, pointer: unknown): ResolvedResource | undefined {
    return this.ofType(type).find(({ ref, arn }) => pointer === ref || pointer === arn)
  }
}

/**
 * Two stacks of a kind (one for each stage, say) have the same logical ids, which then come with the stack's name: we
 * name files, functions and ports by them.
 */
function withUniqueIds(all: readonly ResolvedResource[]): readonly ResolvedResource[] {
  const counts = new Map<string, number>()
  for (const { logicalId } of all) counts.set(logicalId, (counts.get(logicalId) ?? 0) + 1)
  return all.map((resource) => {
    const { logicalId, stackName } = resource
    if (counts.get(logicalId) === 1) return resource
    return { ...resource, logicalId: `${stackName}-${logicalId}` }
  })
}

function resourcesOf(stack: StackTemplate, names: Names): ResolvedResource[] {
  return Object.entries(stack.template.Resources)
    .filter(([, { Condition }]) => Condition === undefined || isTrue(Condition, names))
    .map(([logicalId, resource]) => ({
      ...identityOf(stack, logicalId, resource, names),
      logicalId,
      stackName: stack.stackName,
      type: resource.Type,
      metadata: resource.Metadata ?? {},
      directory: stack.directory,
      property: (name) => resolve(resource.Properties?.[name], names),
    }))
}

const isTrue = (condition: string, names: Names) => holds(names.condition(condition), names)

function identityOf(
  { stackName }: StackTemplate,
  logicalId: string,
  resource: Resource,
  names: Names,
): Identity {
  const property = nameProperty(resource.Type)
  const given = property && resolve(resource.Properties?.[property], names)
  return identify(stackName, logicalId, resource, given ? String(given) : undefined)
}

function namesOf(stack: StackTemplate, importValue: Names['importValue']): Names {
  const { stackName, template } = stack
  const resource = (logicalId: string): Resource => {
    const found = template.Resources[logicalId]
    if (found) return found
    throw new StartError(
      `Cannot run the template of ${stackName} because it mentions ${logicalId}, which is not in it`,
    )
  }
  const names: Names = {
    stackName,
    importValue,
    ref(logicalId) {
      const parameter = template.Parameters?.[logicalId]
      if (!parameter) return identityOf(stack, logicalId, resource(logicalId), names).ref
      if (parameter.Default !== undefined) return parameter.Default
      throw new StartError(
        `Cannot run the template of ${stackName} because its parameter ${logicalId} has no default`,
      )
    },
    attribute: (logicalId, name) =>
      attributeOf(identityOf(stack, logicalId, resource(logicalId), names), logicalId, name),
    findInMap(map, key, second) {
      const found = template.Mappings?.[map]?.[key]
      if (isObject(found) && second in found) return found[second]
      throw new StartError(
        `Cannot run the template of ${stackName} because its mapping ${map} has no ${key}.${second}`,
      )
    },
    condition(name) {
      const found = template.Conditions?.[name]
      if (found !== undefined) return found
      throw new StartError(
        `Cannot run the template of ${stackName} because it has no condition ${name}`,
      )
    },
  }
  return names
}

/** A property that has to be there, as text. */
export function textOf(resource: ResolvedResource, name: string): string {
  const value = resource.property(name)
  if (typeof value === 'string') return value
  throw new StartError(
    `Cannot run the template because ${name} of ${resource.logicalId} is not text but ${JSON.stringify(value)}`,
  )
}

/** CloudFormation takes numbers as text as well. */
export function numberOf(resource: ResolvedResource, name: string): number | undefined {
  const value = resource.property(name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (Number.isFinite(number)) return number
  throw new StartError(
    `Cannot run the template because ${name} of ${resource.logicalId} is not a number but ${JSON.stringify(value)}`,
  )
}

export function objectOf(
  resource: ResolvedResource,
  name: string,
): Readonly<Record<string, unknown>> {
  const value = resource.property(name)
  return isObject(value) ? value : {}
}

export function objectsOf(
  resource: ResolvedResource,
  name: string,
): readonly Readonly<Record<string, unknown>>[] {
  const value = resource.property(name)
  return Array.isArray(value) ? value.filter(isObject) : []
}

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

function resolve(value: unknown, names: Names): unknown {
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
