// The resources of all stacks, with their properties and references resolved.

import { StartError } from '../start-error.ts'
import { isObject, type Resource, type StackTemplate } from './assembly.ts'
import { attributeOf, type Identity, identify, nameProperty } from './identities.ts'
import { holds, type Names, resolve } from './intrinsics.ts'

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
