#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "render/holes.h"
#include "render/template_tree.h"

namespace inference::render {

using TemplateMap = std::map<std::string, Template, std::less<>>;

/// Points every `!include` at the tree it names and works out which subtrees are constant. A missing file, a cycle and
/// trees that grow beyond reason by including each other are faults; the trees are then not to be used.
void link_templates(TemplateMap& templates, std::vector<TemplateFault>& faults);

/// What one linked tree must keep: every line has a reason (own or from above), every hole and every figure its own,
/// and nothing from outside reaches a shell's command text: the list item after `sh -c` is a constant.
void lint_template(const Template& file, std::vector<TemplateFault>& faults);

/// Compares the holes that linked trees name with those that the C++ structs offer, both ways.
void lint_schemas(const TemplateMap& templates, std::span<const TemplateSchema> schemas,
                  std::vector<TemplateFault>& faults);

}  // namespace inference::render
